TOKENS_PER_S = 40
async def long_chat(*a): return []
