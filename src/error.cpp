#include "distlock/error.h"

namespace distlock {
namespace {

class Category : public std::error_category {
 public:
  const char* name() const noexcept override { return "distlock"; }

  std::string message(int code) const override {
    switch (static_cast<Errc>(code)) {
      case Errc::not_applied:
        return "not applied, the store is unchanged";
      case Errc::outcome_unknown:
        return "outcome unknown, the store may have changed";
      case Errc::bad_record:
        return "malformed document";
      case Errc::invalid_argument:
        return "invalid argument";
      case Errc::permission_denied:
        return "permission denied";
      case Errc::already_held:
        return "already held by this thread";
      case Errc::lock_lost:
        return "lock lost or not held";
      case Errc::forked:
        return "handle of before a fork, or a fork in the middle of a call";
      case Errc::stopped:
        return "the pinger was stopped";
      case Errc::deadlock:
        return "deadlock";
      case Errc::store_replaced:
        return "the store was replaced, open it anew";
    }
    return "unknown code " + std::to_string(code);
  }
};

}  // namespace

const std::error_category& error_category() noexcept {
  static const Category category;
  return category;
}

namespace {

// A child that is forked while another thread makes it would wait for that for ever.
[[maybe_unused]] const std::error_category* const kCategoryAtLoad = &error_category();

}  // namespace

}  // namespace distlock
