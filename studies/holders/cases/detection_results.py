# half: seventh
# kind: python
# names: results
# or: masks Result
# bytes: 25165824
"""A detector gives a list of results for each batch, with boxes and masks; all of them are put into one list, of which
just the number of boxes is used (ultralytics#3983, where streaming did not help because the results were listed). To
change: results.extend(result.cpu() for result in ...), or count as they come."""
import time

import torch


class Masks:
    def __init__(self, data):
        self.data = data


class Result:
    __slots__ = ("number", "boxes", "masks")

    def __init__(self, number, boxes, masks):
        self.number = number
        self.boxes = boxes
        self.masks = Masks(masks)


class Detector(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.box_head = torch.nn.Linear(64, 4)
        self.mask_head = torch.nn.Linear(64, 64 * 64)

    def forward(self, images):
        return self.box_head(images), self.mask_head(images)

    @torch.no_grad()
    def predict(self, images):
        boxes, masks = self(images)
        for number in range(len(images)):
            yield Result(number, boxes[number], masks[number].view(-1, 64, 64))


def main():
    detector = Detector().to("cuda")
    optimizer = torch.optim.SGD(detector.parameters(), lr=0.01)
    results = []
    for _ in range(24):
        images = torch.randn(4, 16, 64, device="cuda")
        boxes, masks = detector(images)
        optimizer.zero_grad()
        (boxes.square().mean() + masks.square().mean()).backward()
        optimizer.step()
        del boxes, masks
        results.extend(detector.predict(images))
        time.sleep(0.03)  # stands for the time of the kernels
    print(sum(len(result.boxes) for result in results), "boxes")


main()
