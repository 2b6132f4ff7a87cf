# Included right after llama.cpp's own project() call: llama-cpp-python forces its helper library on, and with it
# downloads, an HTTP server and templates that nothing here links against.
set(LLAMA_BUILD_COMMON OFF CACHE BOOL "" FORCE)
