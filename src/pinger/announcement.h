#pragma once

#include <boost/intrusive/list.hpp>
#include <boost/thread/thread.hpp>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "distlock/clock.h"
#include "distlock/loss.h"

namespace distlock {

using OnLost = std::function<void(LossReason)>;
using OnAtRisk = std::function<void(SteadyTime)>;

struct Listener;

struct InQueue;
struct OfListener;
template <class Tag>
using Hook = boost::intrusive::list_base_hook<boost::intrusive::tag<Tag>>;

/// The news of one hold: its loss, or that it is at risk. All that the announcement needs is in
/// here from the moment when it was noticed. So it reaches that hold and no later one. Made
/// beforehand, so that telling takes no memory.
struct Announcement : Hook<InQueue>, Hook<OfListener> {
  std::shared_ptr<Listener> to;
  std::stop_source stop{std::nostopstate};  // stopped before the callback is called
  LossReason reason{};
  std::shared_ptr<const OnLost> on_lost;
  SteadyTime valid_until;
  std::shared_ptr<const OnAtRisk> on_at_risk;
};

using Announcements =
    boost::intrusive::list<Announcement, boost::intrusive::base_hook<Hook<InQueue>>>;

/// The owner of one lock object, as far as it is told something. Shared, since an announcement may
/// outlive the object that it destroys.
struct Listener {
  explicit Listener(std::string name) : lock_name(std::move(name)) {}

  const std::string lock_name;

 private:
  friend class Announcer;
  struct Running : boost::intrusive::list_base_hook<
                       boost::intrusive::link_mode<boost::intrusive::normal_link>> {
    boost::thread::id thread = boost::this_thread::get_id();
  };
  // Guarded by the mutex of Announcer.
  // NOLINTBEGIN(readability-identifier-naming): to Announcer, and to no other, this is a plain
  // struct.
  boost::intrusive::list<Announcement, boost::intrusive::base_hook<Hook<OfListener>>> waiting;
  boost::intrusive::list<Running> running;
  bool finished = false;  // the rest is told to nobody
  // NOLINTEND(readability-identifier-naming)
};

}  // namespace distlock
