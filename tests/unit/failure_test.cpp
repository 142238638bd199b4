#include "failure.h"

#include <catch2/catch.hpp>
#include <cerrno>
#include <stdexcept>

#include "distlock/error.h"

using namespace distlock;

namespace {

template <class Exception>
Failure failure_in_handler(const Exception& thrown) {
  try {
    throw thrown;
  } catch (...) {
    return current_failure();
  }
}

}  // namespace

TEST_CASE("an error of a store says whether its call was applied, and whether it may pass",
          "[failure][R8]") {
  const Failure rejected = failure_in_handler(Error(Errc::not_applied, "no"));
  CHECK_THAT(rejected.what, Catch::StartsWith("no"));
  CHECK_FALSE(rejected.outcome_unknown);
  CHECK(rejected.may_pass);
  const Failure unknown = failure_in_handler(Error(Errc::outcome_unknown, "perhaps"));
  CHECK_THAT(unknown.what, Catch::StartsWith("perhaps"));
  CHECK(unknown.outcome_unknown);
  CHECK(unknown.may_pass);
  for (const Errc code : {Errc::bad_record, Errc::invalid_argument, Errc::permission_denied,
                          Errc::already_held, Errc::lock_lost, Errc::forked, Errc::stopped}) {
    const Failure lasting = failure_in_handler(Error(code, "never"));
    CHECK_THAT(lasting.what, Catch::StartsWith("never"));
    CHECK_FALSE(lasting.outcome_unknown);
    CHECK_FALSE(lasting.may_pass);
  }
}

TEST_CASE("after any other exception the outcome is unknown, and may pass", "[failure][R8]") {
  const Failure known = failure_in_handler(std::runtime_error("out of order"));
  CHECK(known.what == "out of order");
  CHECK(known.outcome_unknown);
  CHECK(known.may_pass);
  const Failure nameless = failure_in_handler(7);
  CHECK(nameless.what == "an exception of an unknown type");
  CHECK(nameless.outcome_unknown);
  CHECK(nameless.may_pass);
}

TEST_CASE("a full disk refuses nobody, and a path that can be no file's is not waited for",
          "[failure][R15]") {
  for (const int error : {EACCES, EPERM, EROFS}) {
    CHECK(path_failure(error) == Errc::permission_denied);
  }
  for (const int error : {ENAMETOOLONG, ENOTDIR, ELOOP}) {
    CHECK(path_failure(error) == Errc::invalid_argument);
  }
  for (const int error : {ENOSPC, EDQUOT, EIO, EMFILE, ENOENT}) {
    CHECK(path_failure(error) == Errc::not_applied);
  }
}
