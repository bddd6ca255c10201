# half: seventh
# kind: python
# names: all_boxes
# bytes: 25165824
"""The evaluation of a detector makes a table of all boxes, by class and by image, before it begins, and fills it in:
its length never changes, but what is in it does, and the boxes stay on the GPU until average precision is computed
(reports on evaluation in detection programs that grew out of Fast R-CNN). To change: .cpu() when a place is filled."""
import time

import torch

CLASSES = 4
IMAGES = 24


def detect(model, image):
    output = model(image)
    return output.chunk(CLASSES)


def main():
    model = torch.nn.Linear(64, 256).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    all_boxes = [[None for _ in range(IMAGES)] for _ in range(CLASSES)]
    for number in range(IMAGES):
        image = torch.randn(1024, 64, device="cuda")
        optimizer.zero_grad()
        model(image).square().mean().backward()
        optimizer.step()
        with torch.no_grad():
            for label, boxes in enumerate(detect(model, image)):
                all_boxes[label][number] = boxes * 2
        time.sleep(0.03)  # stands for the time of the kernels
    print([sum(len(boxes) for boxes in of_class) for of_class in all_boxes])


main()
