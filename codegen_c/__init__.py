"""Pure printers of a :class:`packager.program.Program`: no files, no clock, no randomness, no onnx."""
