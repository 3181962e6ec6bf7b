"""edgepack: ONNX models to small, fast, standalone C, packaged, deployed and measured."""

__version__ = "0.1.0"
