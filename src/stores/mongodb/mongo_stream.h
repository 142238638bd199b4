#pragma once

#include <mongoc/mongoc.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "distlock/clock.h"

namespace distlock {

/// Has every connection that the client makes from now on hand over whole and sound messages only
/// (why_unsound()). Any other message is an error of the connection instead, which is closed.
void guard_streams(mongoc_client_t* client);

/// The same for the connections of the pool's monitors. Before the first client is taken. Does
/// nothing with a libmongoc that does not export the function for it.
void guard_monitors(mongoc_client_pool_t* pool);

/// Why this thread's last read of a guarded connection was such an error, or nothing. The next call
/// gives nothing.
std::string_view take_why_unsound();

/// The number of the error in the answer to what this thread asked last on a guarded connection; 0
/// if it is none. Nothing if no answer came.
std::optional<std::uint32_t> code_of_last_answer();

/// The end of the innermost AnswersUntil of this thread, or the end of time.
SteadyTime end_of_answers();

/// How long this thread may try to connect, in milliseconds: until then, and for a tenth of a
/// second at least. A failure to connect costs all threads the connections to that server.
std::int32_t time_to_connect();

/// While this lives, its thread waits for no answer on a guarded connection after `end`: that is a
/// timeout. The innermost one counts.
class AnswersUntil {
 public:
  explicit AnswersUntil(SteadyTime end);
  ~AnswersUntil();
  AnswersUntil(const AnswersUntil&) = delete;
  AnswersUntil& operator=(const AnswersUntil&) = delete;

 private:
  const SteadyTime outer_;
};

}  // namespace distlock
