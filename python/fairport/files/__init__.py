"""Files and folders that are complete or not there: all atomic writing is in this package.

Everything is first written beside its final place under a hidden name, `.NAME.TOKEN.partial`, and
then renamed. The writer holds a lock on it, which the kernel releases when the process ends,
however it ends. So the next writer of the same name recognises what a killed one left, and removes
it.

- `atomic_file`: a file that a user names, with a clear error; devices, FIFOs and links are kept.
  `write_text` writes a text to such a file; `require_writable` tries it before a long work.
- `replace_file`: a small file of Fairport's own, given its content.
- `atomic_folder`: a results folder, which carries a list of what Fairport wrote into it.
"""

from fairport.files.exchange import exchange as exchange
from fairport.files.folder import add_to_list as add_to_list
from fairport.files.folder import atomic_folder as atomic_folder
from fairport.files.folder import refuse_what_is_there as refuse_what_is_there
from fairport.files.folder import unwritable as unwritable
from fairport.files.partial import LIST as LIST
from fairport.files.partial import is_partial as is_partial
from fairport.files.partial import partial_folder as partial_folder
from fairport.files.partial import put_back as put_back
from fairport.files.single import atomic_file as atomic_file
from fairport.files.single import replace_file as replace_file
from fairport.files.single import require_writable as require_writable
from fairport.files.single import write_text as write_text
