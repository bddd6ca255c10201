# half: seventh
# kind: python
# names: non_cond_frame_outputs
# or: inference_state
# bytes: 25165824
"""Masks are followed through a video, and a state has what each frame gave, in dicts of dicts; the next frame looks at
the last six, and nothing drops the frames before (sam2#196, sam2#571). A head is trained on the features as they come.
To change: delete the output of the seventh last frame, or keep outputs on the CPU."""
import time

import torch


class VideoPredictor:
    def __init__(self, model):
        self.model = model

    def init_state(self):
        return {
            "frame": 0,
            "output_dict": {"cond_frame_outputs": {}, "non_cond_frame_outputs": {}},
        }

    @torch.no_grad()
    def track_step(self, inference_state, image):
        number = inference_state["frame"]
        outputs = inference_state["output_dict"]
        features = self.model(image)
        for earlier in range(max(1, number - 6), number):
            features += 0.1 * outputs["non_cond_frame_outputs"][earlier]["memory_features"]
        kind = "non_cond_frame_outputs" if number else "cond_frame_outputs"
        outputs[kind][number] = {"memory_features": features, "mask": features.mean(dim=1)}
        inference_state["frame"] += 1
        return features


def main():
    predictor = VideoPredictor(torch.nn.Linear(64, 1024).to("cuda"))
    head = torch.nn.Linear(1024, 2).to("cuda")
    optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
    inference_state = predictor.init_state()
    for _ in range(24):
        features = predictor.track_step(inference_state, torch.randn(256, 64, device="cuda"))
        optimizer.zero_grad()
        head(features).square().mean().backward()
        optimizer.step()
        time.sleep(0.03)  # stands for the time of the kernels


main()
