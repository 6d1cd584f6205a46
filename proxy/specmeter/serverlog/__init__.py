"""What server logs say about drafting: `specmeter log`, and a log followed while serving.

Bytes become blocks of whole lines (`blocks`), without what other programs put around them
(`lines`, `json_lines`). One module a server's format finds the records in a block and makes an
`Entry` of each; `LogReader` joins them. Nothing here imports a network or a metrics library.
`follower` reads a log that grows, `matching` pairs its records with answers.
"""
