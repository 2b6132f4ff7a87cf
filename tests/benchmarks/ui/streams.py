TOKENS_PER_S = 40
async def streams(*a): return []
