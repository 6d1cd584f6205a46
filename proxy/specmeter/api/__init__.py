"""The admin listener's JSON: what the live page, `specmeter top` and scripts are told.

docs/api.md describes it; `VERSION` rises when a field changes its meaning or goes away.
"""

VERSION = 1
