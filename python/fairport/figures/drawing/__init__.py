"""What every figure is drawn with: style, heading, width, and how it becomes a file."""
