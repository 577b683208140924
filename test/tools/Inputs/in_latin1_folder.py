#!/usr/bin/python3
"""in_latin1_folder.py FILE... -- COMMAND...: runs the command in a new folder whose name is not
UTF-8 and that holds copies of the files."""
import os
import shutil
import subprocess
import sys

split = sys.argv.index("--")
FOLDER = b"l\xe4tin"
shutil.rmtree(FOLDER, ignore_errors=True)
os.mkdir(FOLDER)
for name in sys.argv[1:split]:
    shutil.copy(os.fsencode(name), FOLDER)
sys.exit(subprocess.call(sys.argv[split + 1 :], cwd=FOLDER))
