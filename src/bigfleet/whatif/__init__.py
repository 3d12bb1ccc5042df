"""What-if: the engine on an edited copy of a cycle's input, beside its decision on the input.

Pure. Nothing here decides: `overlay_text` and `overlay_file` read edits, `contradictions` refuses
edits that cannot both be meant, `selecting` finds what they are about, `applying` makes the edited
input, `comparing` decides on both and tells the difference. `settling` goes on in virtual time
until nothing happens any more (`moving`: machines that carry out actions), `settled` tells what
became of both sides, `sweeping` asks for each value of an axis. `counterfactual` searches for the
smallest change that would satisfy a Need.
"""
