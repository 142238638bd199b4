#pragma once

namespace distlock::sim {

/// While one lives, what runs is a forked child of its process: it uses its parent's objects, and
/// must neither wait nor reach the store (R16).
class ForkedChild {
 public:
  ForkedChild();
  ~ForkedChild();
  ForkedChild(const ForkedChild&) = delete;
  ForkedChild& operator=(const ForkedChild&) = delete;

  static bool running();
};

}  // namespace distlock::sim
