"""The colours that a page sets, too, since they must differ on a dark ground."""

INK = "#1c2733"
MUTED = "#5d6b78"
GRID = "#dde3e8"
PAPER = "#ffffff"
BLUE = "#0072b2"
