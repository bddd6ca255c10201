"""A variable of TensorFlow on the GPU, which takes it from its BFC allocator."""
import tensorflow

with tensorflow.device("/GPU:0"):
    held = tensorflow.Variable(tensorflow.zeros([1024, 1024]))
print("device", held.device)
