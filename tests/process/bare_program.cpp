// A program that a command starts, and that closes all descriptors but its standard streams, as
// Python's subprocess does. Says its number and stays. With "session" it has a session of its own,
// with "environment" it has lost its environment, too.
#include <unistd.h>

#include <cstdio>
#include <string_view>

int main(int count, char** words) {
  close_range(3, ~0U, 0);
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    if (word == "session" && fork() != 0) return 0;
    if (word == "session") setsid();
    if (word == "environment") {
      char* none = nullptr;
      char* only_name[] = {words[0], nullptr};
      execve("/proc/self/exe", only_name, &none);
    }
  }
  alarm(120);
  std::printf("%d\n", static_cast<int>(getpid()));
  std::fclose(stdout);
  for (const int stream : {0, 2}) close(stream);
  while (true) pause();
}
