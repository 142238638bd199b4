#include "stores/mirrored/opening_member.h"

#include <boost/thread/lock_guard.hpp>

#include "stores/mirrored/mirrored_store.h"

namespace distlock::mirrored {
namespace {

constexpr std::chrono::seconds kBetweenTries{1};

}  // namespace

// Nothing if it is not there. Then the caller opens it.
std::shared_ptr<Store> OpeningMember::begin() {
  const SteadyTime now = clock_->steady_now();
  const boost::lock_guard<boost::mutex> lock(mutex_);
  if (store_) return store_;
  if (opening_) throw Error(Errc::not_applied, description_ + " is being opened");
  if (failure_ && now < next_try_) throw Error(*failure_);
  opening_ = true;
  return nullptr;
}

void OpeningMember::end(std::shared_ptr<Store> store, std::optional<Error> failure) {
  const SteadyTime now = clock_->steady_now();
  const boost::lock_guard<boost::mutex> lock(mutex_);
  opening_ = false;
  store_ = std::move(store);
  failure_ = std::move(failure);
  next_try_ = now + kBetweenTries;
}

std::shared_ptr<Store> OpeningMember::opened() {
  if (auto store = begin()) return store;
  try {
    auto store = open_();
    end(store, std::nullopt);
    return store;
  } catch (const Error& error) {
    end(nullptr, error);
    throw;
  } catch (...) {
    end(nullptr, std::nullopt);
    throw;
  }
}

void OpeningMember::replaced(const std::shared_ptr<Store>& store, const std::string& what) {
  const Error away(Errc::not_applied, what);
  const SteadyTime now = clock_->steady_now();
  {
    const boost::lock_guard<boost::mutex> lock(mutex_);
    if (store_ == store) {
      store_.reset();
      failure_ = away;
      next_try_ = now + (kCallsInOne + 1) * call_limit_;
    }
  }
  throw Error(away);
}

}  // namespace distlock::mirrored
