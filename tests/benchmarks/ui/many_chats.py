TOKENS_PER_S = 40
async def many_chats(*a): return []
