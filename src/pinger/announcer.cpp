#include "pinger/announcer.h"

#include <algorithm>
#include <boost/thread/lock_guard.hpp>
#include <exception>

#include "log.h"

namespace distlock {
namespace {

using Guard = boost::lock_guard<boost::mutex>;

}  // namespace

void Announcer::on_lost(std::function<void(LossReason)> callback) {
  const Guard lock(mutex_);
  on_lost_ = std::move(callback);
}

void Announcer::on_at_risk(std::function<void(SteadyTime)> callback) {
  const Guard lock(mutex_);
  on_at_risk_ = std::move(callback);
}

void Announcer::begin() {
  const Guard lock(mutex_);
  stop_ = std::stop_source{};
}

void Announcer::begin_lost() {
  const Guard lock(mutex_);
  stop_.request_stop();
}

std::stop_token Announcer::stop_token() {
  const Guard lock(mutex_);
  return stop_.get_token();
}

// Source and callbacks are those of now: a new hold may begin before the announcement runs.
void Announcer::lost(LossReason reason) {
  std::stop_source stop(std::nostopstate);
  std::function<void(LossReason)> callback;
  {
    const Guard lock(mutex_);
    stop = stop_;
    callback = on_lost_;
  }
  run([stop, callback, reason]() mutable {
    stop.request_stop();
    if (callback) callback(reason);
  });
}

void Announcer::at_risk(SteadyTime valid_until) {
  std::function<void(SteadyTime)> callback;
  {
    const Guard lock(mutex_);
    callback = on_at_risk_;
  }
  if (callback) run([callback, valid_until] { callback(valid_until); });
}

void Announcer::run(std::function<void()> announcement) {
  {
    const Guard lock(mutex_);
    ++starting_;
  }
  const auto task = [self = shared_from_this(), announcement = std::move(announcement)] {
    self->started();
    self->run_here(announcement);
    self->ended();
  };
  if (announce_on_ == AnnounceOn::own_thread) {
    try {
      boost::thread(task).detach();
      return;
    } catch (const boost::thread_resource_error& error) {
      log::no_thread_to_announce(lock_name_, error.what());
    }
  }
  task();
}

void Announcer::started() {
  const Guard lock(mutex_);
  --starting_;
  running_.push_back(boost::this_thread::get_id());
}

void Announcer::run_here(const std::function<void()>& announcement) noexcept {
  // Whatever a callback throws: it has nowhere else to go, and the process must not end for it.
  try {
    announcement();
  } catch (const std::exception& error) {
    log::callback_threw(lock_name_, error.what());
  } catch (...) {
    log::callback_threw(lock_name_, "something that is no std::exception");
  }
}

void Announcer::ended() {
  const Guard lock(mutex_);
  const auto own = std::find(running_.begin(), running_.end(), boost::this_thread::get_id());
  running_.erase(own);
  changed_.notify_all();
}

void Announcer::wait_for_callbacks() {
  const boost::this_thread::disable_interruption no_interruption;
  boost::unique_lock<boost::mutex> lock(mutex_);
  changed_.wait(lock, [this] {
    const auto self = boost::this_thread::get_id();
    return starting_ == 0 &&
           std::all_of(running_.begin(), running_.end(), [&](auto id) { return id == self; });
  });
}

}  // namespace distlock
