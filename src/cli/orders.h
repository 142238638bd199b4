#pragma once

#include <array>
#include <cstdint>

namespace distlock::cli {

/// A message to the keeper.
struct Order {
  enum class Kind : std::int64_t { look, guard, command };
  Kind kind = Kind::look;
  /// The window's nanoseconds, or the number of the group that the command leads, or 0.
  std::int64_t value = 0;
  std::array<char, 24> token{};  ///< Of the hold to guard.
};

/// Does not wait, and allocates nothing. `enclosed`: a descriptor that goes with it, or -1.
void give(int keeper, Order order, int enclosed = -1);

/// A look into the keeper's end of the socket.
struct Received {
  enum class What { order, nothing, end };
  What what = What::nothing;  ///< `end`: no process is left that could give orders.
  Order order;
  int enclosed = -1;  ///< The receiver's own.
};

/// Waits for a message. A message that is no order is nothing, and no end.
Received receive(int orders);

}  // namespace distlock::cli
