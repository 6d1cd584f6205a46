"""The live page: files of its own, sent as they are; nothing is built and nothing is fetched."""
