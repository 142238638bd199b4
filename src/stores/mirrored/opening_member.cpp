#include "stores/mirrored/opening_member.h"

#include <boost/thread/lock_guard.hpp>

#include "failure.h"
#include "log.h"
#include "stores/mirrored/mirrored_store.h"

namespace distlock::mirrored {
namespace {

constexpr std::chrono::seconds kBetweenTries{1};
// A server may lock a user out after some tries with a wrong password.
constexpr std::chrono::seconds kBetweenTriesOfFault{10};

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
  const bool is_fault = failure && !may_pass(*failure);
  store_ = std::move(store);
  failure_ = std::move(failure);
  next_try_ = now + (is_fault ? kBetweenTriesOfFault : kBetweenTries);
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

void OpeningMember::tell_faults() {
  const boost::lock_guard<boost::mutex> lock(mutex_);
  tells_faults_ = true;
}

// A malformed document is one of a lock, and told elsewhere.
void OpeningMember::tell(const Error& error, bool of_opening) {
  const bool denied = error.errc() == Errc::permission_denied;
  if (!denied && (!of_opening || may_pass(error))) return;
  {
    const boost::lock_guard<boost::mutex> lock(mutex_);
    if (!tells_faults_ || !told_.insert(error.errc()).second) return;
  }
  log::member_cannot_be_used(description_, error.what());
}

std::shared_ptr<Store> OpeningMember::opened_for_call() {
  try {
    return opened();
  } catch (const Error& error) {
    tell(error, true);
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
