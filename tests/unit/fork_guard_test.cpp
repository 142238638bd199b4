#include "fork_guard.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <functional>
#include <string>

#include "distlock/error.h"
#include "support/leave.h"

using namespace distlock;

namespace {

/// The result of `act` in a child of fork().
int in_child(const std::function<int()>& act) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) testing::leave(act());
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

/// 0 if the guard refuses, and names what it guards.
int refuses(const ForkGuard& guard) {
  if (!guard.in_child()) return 1;
  try {
    guard.check("this lock");
  } catch (const Error& error) {
    if (error.errc() != Errc::forked) return 2;
    return std::string(error.what()).starts_with("this lock was made before") ? 0 : 3;
  }
  return 4;
}

/// 0 if the guard lets pass.
int accepts(const ForkGuard& guard) {
  if (guard.in_child()) return 11;
  guard.check("this lock");
  return 0;
}

}  // namespace

TEST_CASE("handles from before a fork are refused in the child, and go on in the parent",
          "[fork][R16]") {
  const ForkGuard guard;
  CHECK(accepts(guard) == 0);
  CHECK(in_child([&] { return refuses(guard); }) == 0);
  CHECK(accepts(guard) == 0);
}

TEST_CASE("a child's handles are its own, and refused in its own children", "[fork][R16]") {
  const ForkGuard guard;
  CHECK(in_child([&] {
          const ForkGuard own;
          if (const int status = accepts(own)) return status;
          return in_child([&] { return refuses(guard) + 20 * refuses(own); });
        }) == 0);
}

TEST_CASE("each process has its own value of a PerProcess", "[fork][R16]") {
  static PerProcess<int> numbers;  // Never destroyed, as everywhere.
  CHECK(numbers.get() == 0);
  numbers.get() = 7;
  CHECK(numbers.get() == 7);
  CHECK(in_child([&] { return numbers.get(); }) == 0);
  CHECK(in_child([&] {
          numbers.get() = 8;
          return numbers.get();
        }) == 8);
  CHECK(numbers.get() == 7);
}
