#include "stores/mirrored/opening_member.h"

#include <boost/thread/lock_guard.hpp>

namespace distlock::mirrored {
namespace {

constexpr std::chrono::seconds kBetweenTries{1};

}  // namespace

// False if the store is there. Otherwise the caller opens it.
bool OpeningMember::begin() {
  const SteadyTime now = clock_->steady_now();
  const boost::lock_guard<boost::mutex> lock(mutex_);
  if (store_) return false;
  if (opening_) throw Error(Errc::not_applied, description_ + " is being opened");
  if (failure_ && now < next_try_) throw Error(*failure_);
  opening_ = true;
  return true;
}

void OpeningMember::end(std::shared_ptr<Store> store, std::optional<Error> failure) {
  const SteadyTime now = clock_->steady_now();
  const boost::lock_guard<boost::mutex> lock(mutex_);
  opening_ = false;
  store_ = std::move(store);
  failure_ = std::move(failure);
  next_try_ = now + kBetweenTries;
}

Store& OpeningMember::opened() {
  if (begin()) {
    try {
      end(open_(), std::nullopt);
    } catch (const Error& error) {
      end(nullptr, error);
      throw;
    } catch (...) {
      end(nullptr, std::nullopt);
      throw;
    }
  }
  return *store_;
}

}  // namespace distlock::mirrored
