#include "sim/scheduler.h"

#include <cxxabi.h>

#include <algorithm>
#include <boost/context/pooled_fixedsize_stack.hpp>
#include <utility>

namespace distlock::sim {
namespace {

constexpr std::size_t kStackBytes = 128 * 1024;

// Shared by all runs of a thread: a run makes some twenty fibers, and mapping stacks is slow.
boost::context::pooled_fixedsize_stack& stacks() {
  thread_local boost::context::pooled_fixedsize_stack pool(kStackBytes);
  return pool;
}

// The C++ runtime keeps the exceptions that are being handled by thread. Fibers wait inside of
// catch blocks, so each needs its own.
template <class Saved>
void exchange_exceptions(Saved& saved) {
  auto* current = reinterpret_cast<Saved*>(abi::__cxa_get_globals());
  std::swap(*current, saved);
}

}  // namespace

Scheduler::Scheduler(std::uint64_t seed) : random_(seed) { events_.reserve(256); }

Scheduler::~Scheduler() {
  // Unwinding one that still waits would run through functions that must not throw.
  for (auto& fiber : fibers_) {
    if (!fiber->done) static_cast<void>(fiber.release());
  }
}

std::vector<std::string> Scheduler::unfinished() const {
  std::vector<std::string> names;
  for (const auto& fiber : fibers_) {
    if (!fiber->done) names.push_back(fiber->name);
  }
  return names;
}

Fiber& Scheduler::spawn(FiberGroup& group, std::string name, std::function<void()> body) {
  auto& fiber = *fibers_.emplace_back(std::make_unique<Fiber>());
  fiber.group = &group;
  fiber.name = std::move(name);
  fiber.context =
      boost::context::fiber(std::allocator_arg, stacks(),
                            [this, &fiber, body = std::move(body)](boost::context::fiber&& back) {
                              fiber.back = std::move(back);
                              try {
                                body();
                              } catch (const std::exception& error) {
                                escaped_ = fiber.name + " ends with an exception: " + error.what();
                              }
                              fiber.done = true;
                              return std::move(fiber.back);
                            });
  wake(fiber);
  return fiber;
}

void Scheduler::at(Time when, std::function<void()> event) {
  if (free_places_.empty()) {
    free_places_.push_back(actions_.size());
    actions_.emplace_back();
  }
  const std::uint64_t place = free_places_.back();
  free_places_.pop_back();
  actions_[place] = std::move(event);
  push(when, nullptr, place);
}

void Scheduler::push(Time when, Fiber* fiber, std::uint64_t ticket) {
  const std::uint64_t order = (random_.next() << 32U) | (++count_ & 0xffffffffU);
  events_.push_back({std::max(when, now_), order, fiber, ticket});
  std::push_heap(events_.begin(), events_.end(), Later{});
}

Scheduler::Event Scheduler::pop() {
  std::pop_heap(events_.begin(), events_.end(), Later{});
  const Event event = events_.back();
  events_.pop_back();
  return event;
}

void Scheduler::rest_until(Time when) {
  ++current_->ticket;
  if (when != kNever) push(when, current_, current_->ticket);
  switch_away();
}

void Scheduler::note_no_rest() {
  constexpr int kMost = 100'000;
  if (std::exchange(no_rest_at_, now_) != now_) no_rest_ = 0;
  if (++no_rest_ < kMost) return;
  escaped_ = current_->name + " waits for what is due already, again and again";
  rest_until(kNever);
}

void Scheduler::wake(Fiber& fiber) {
  if (fiber.done || &fiber == current_) return;
  ++fiber.ticket;
  push(now_, &fiber, fiber.ticket);
}

void Scheduler::wake_all(const FiberGroup& group) {
  for (const auto& fiber : fibers_) {
    if (fiber->group == &group) wake(*fiber);
  }
}

void Scheduler::pause(Fiber& fiber, Time until) {
  fiber.paused_until = std::max(fiber.paused_until, until);
}

void Scheduler::end_pauses() {
  for (const auto& fiber : fibers_) {
    fiber->paused_until = Time{0};
    fiber->group->paused_until = std::min(fiber->group->paused_until, now_);
    wake(*fiber);
  }
}

void Scheduler::run(Time end, const std::function<bool()>& stop) {
  while (!events_.empty() && events_.front().when <= end && !stop()) {
    const Event event = pop();
    now_ = event.when;
    happen(event);
  }
  if (!stop()) now_ = std::max(now_, end);
}

void Scheduler::happen(const Event& event) {
  if (event.fiber == nullptr) {
    ++steps_;
    return act(event.ticket);
  }
  Fiber& fiber = *event.fiber;
  if (fiber.done || fiber.ticket != event.ticket) return;
  const Time paused = std::max(fiber.paused_until, fiber.group->paused_until);
  if (paused > now_) return push(paused, &fiber, fiber.ticket);
  ++steps_;
  resume(fiber);
}

// It may add others, which may take its place.
void Scheduler::act(std::uint64_t place) {
  const std::function<void()> action = std::exchange(actions_[place], nullptr);
  free_places_.push_back(place);
  action();
}

void Scheduler::resume(Fiber& fiber) {
  current_ = &fiber;
  exchange_exceptions(fiber.exceptions);
  fiber.context = std::move(fiber.context).resume();
  exchange_exceptions(fiber.exceptions);
  current_ = nullptr;
}

void Scheduler::switch_away() {
  Fiber& fiber = *current_;
  fiber.back = std::move(fiber.back).resume();
}

}  // namespace distlock::sim
