"""What-if: the engine on an edited copy of a cycle's input, beside its decision on the input.

Pure. Nothing here decides: `overlay_text` and `overlay_file` read edits, `contradictions` refuses
edits that cannot both be meant, `selecting` finds what they are about, `applying` makes the edited
input, `comparing` decides on both and tells the difference. `counterfactual` searches for the
smallest change that would satisfy a Need.
"""
