#include <dlfcn.h>

#include <iostream>
#include <string>

// Memory that an unloaded module has left on purpose is no leak here.
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }

// Loads the module of its first argument. Lets it hold "jobs" in the store of its second in the way
// of its third. Unloads it, says so, and ends with its input. Does not know distlock itself.
int main(int count, char** words) {
  if (count != 4) return 2;
  void* module = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) {
    std::cerr << dlerror() << '\n';
    return 4;
  }
  using Hold = int (*)(const char*, const char*);
  const int held = reinterpret_cast<Hold>(dlsym(module, "hold"))(words[2], words[3]);
  if (held != 0) return held;
  if (dlclose(module) != 0 || dlopen(words[1], RTLD_NOW | RTLD_NOLOAD) != nullptr) return 5;
  std::cout << "unloaded" << std::endl;
  std::string line;
  std::getline(std::cin, line);
  return 0;
}
