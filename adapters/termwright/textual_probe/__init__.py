"""The probe for Textual programs: what the framework itself knows of each frame, told to a termwright/3 driver.

`launcher` starts a program under it, `startup/sitecustomize.py` and `claim` bring it into the program's interpreter, `hook` ties it to the
frames that Textual draws, `tree`, `geometry` and `recognise` say what a frame shows.
"""
