"""Tool packs: what an assistant can be given to do."""
