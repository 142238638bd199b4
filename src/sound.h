#pragma once

#include <utility>
#include <vector>

#include "distlock/store.h"

namespace distlock {

/// The records of a listing that could be read.
template <typename Record>
std::vector<Record> sound(std::vector<Listed<Record>> listed) {
  std::vector<Record> records;
  for (auto& one : listed) {
    if (one.record) records.push_back(std::move(*one.record));
  }
  return records;
}

}  // namespace distlock
