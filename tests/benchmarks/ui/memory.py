TOKENS_PER_S = 40
async def memory(*a): return []
