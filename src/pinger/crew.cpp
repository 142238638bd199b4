#include "pinger/crew.h"

#include <algorithm>
#include <boost/thread/lock_guard.hpp>

namespace distlock {
namespace {

using Guard = boost::lock_guard<boost::mutex>;

void end(boost::thread& thread, bool by_itself) {
  if (!thread.joinable()) return;
  if (by_itself || thread.get_id() == boost::this_thread::get_id()) return thread.detach();
  thread.join();
}

}  // namespace

void Crew::start(const Work& work) {
  auto member = std::make_shared<Member>();
  const Guard lock(mutex_);
  if (ended_) return;
  members_.push_back(member);
  try {
    member->thread_ = boost::thread([work, member] { work(*member); });
  } catch (...) {
    members_.pop_back();
    throw;
  }
}

void Crew::leave(const Member& self) noexcept {
  const Guard lock(mutex_);
  const auto own = std::find_if(members_.begin(), members_.end(),
                                [&](const auto& member) { return member.get() == &self; });
  if (own == members_.end()) return;
  end(left_, false);
  left_ = std::move((*own)->thread_);
  members_.erase(own);
}

void Crew::join() noexcept {
  std::list<std::shared_ptr<Member>> members;
  boost::thread left;
  {
    const Guard lock(mutex_);
    ended_ = true;
    members.swap(members_);
    left = std::move(left_);
  }
  const boost::this_thread::disable_interruption no_interruption;
  for (const auto& member : members) end(member->thread_, member->busy);
  end(left, false);
}

}  // namespace distlock
