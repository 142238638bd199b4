#pragma once

#include <catch2/catch.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "distlock/error.h"
#include "distlock/stores.h"

namespace distlock::testing {

inline std::shared_ptr<Store> open_file(const std::filesystem::path& path) {
  return open_store(ConnectionString("sqlite:" + path.string()));
}

// The failure of `attempt`, which must fail: the code, and a message that names `file`.
template <class Attempt>
std::pair<Errc, std::string> failure_of(const std::string& file, const Attempt& attempt) {
  try {
    attempt();
    FAIL("it did not fail");
  } catch (const Error& error) {
    CHECK_THAT(error.what(), Catch::Contains(file));
    return {error.errc(), error.what()};
  }
  return {};
}

inline std::pair<Errc, std::string> refusal_of(const std::filesystem::path& path) {
  return failure_of(path.string(), [&] { open_file(path); });
}

}  // namespace distlock::testing
