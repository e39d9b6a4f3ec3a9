"""The microscope: every packet at one output port, around an interesting moment.

`focus` chooses the port and the moment; `look` gets the packets from the run's table `packets`, or
runs the simulation again with that table. The figure is in `fairport.figures.microscope`, the page
in `fairport.report.microscope`.
"""

from fairport.microscope.focus import Focus, focus
from fairport.microscope.packets import Slide, look

__all__ = ["Focus", "Slide", "focus", "look"]
