#pragma once

namespace distlock::testing {

/// `wanted`, or what the last of six plays gave. For orders in which real processes get a lock: a
/// machine that stalls for 100 ms lets a turn pass (R17).
template <class Order, class Play>
Order once_of_six(const Order& wanted, Play play) {
  Order got = play();
  for (int more = 5; more > 0 && got != wanted; --more) got = play();
  return got;
}

}  // namespace distlock::testing
