#include "stores/mongodb/mongo_stream.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "stores/mongodb/mongo_connect.h"
#include "stores/mongodb/mongo_message.h"
#include "stores/mongodb/mongo_stream_on_top.h"

// Not in the public headers, but exported, for libmongoc's own tests. It has no other way to reach
// the streams of its monitors.
extern "C" [[gnu::weak]] void _mongoc_client_pool_set_stream_initiator(  // NOLINT(*identifier*)
    mongoc_client_pool_t* pool, mongoc_stream_initiator_t initiator, void* context);

// A stream of libmongoc's between its own one and the commands that read from it.
namespace distlock {
namespace {

using std::chrono::milliseconds;

// As much as libmongoc reads ahead on a connection of its own.
constexpr std::size_t kReadAheadBytes = 1024;

thread_local std::string_view last_unsound;
thread_local std::optional<std::uint32_t> last_code;
thread_local SteadyTime answers_until = SteadyTime::max();

struct GuardedStream : StreamOnTop {
  Request request;                    // the last that was sent, or the answer before
  std::vector<std::uint8_t> message;  // the last that came
  std::size_t taken = 0;              // of its bytes
};

GuardedStream& guarded(mongoc_stream_t* stream) { return static_cast<GuardedStream&>(*stream); }

ssize_t refuse(std::string_view why) {
  last_unsound = why;
  errno = EPROTO;
  return -1;
}

// For how long to wait. A server that answers at once, again and again, is stopped as well.
std::int32_t within_call(std::int32_t timeout) {
  const SteadyTime now = host_clock()->steady_now();
  if (now >= answers_until) return 0;
  // libmongoc takes a negative one for no limit at all.
  const milliseconds most = timeout < 0 ? milliseconds{INT32_MAX} : milliseconds{timeout};
  if (answers_until - now >= most) return timeout;
  return static_cast<std::int32_t>(std::chrono::ceil<milliseconds>(answers_until - now).count());
}

bool read_whole(GuardedStream& stream, std::span<std::uint8_t> to, std::int32_t timeout) {
  const std::int32_t left = within_call(timeout);
  if (left == 0) {
    errno = ETIMEDOUT;
    return false;
  }
  return mongoc_stream_read(stream.inner, to.data(), to.size(), to.size(), left) ==
         static_cast<ssize_t>(to.size());
}

// Fetches the next message, and gives -1 if there is none that libmongoc may see.
ssize_t fetch(GuardedStream& stream, std::int32_t timeout) {
  stream.taken = 0;
  stream.message.resize(kHeaderBytes);
  if (!read_whole(stream, stream.message, timeout)) return -1;
  const MessageHeader header = header_of(stream.message);
  if (!length_is_possible(header.length)) return refuse("has an impossible length");
  stream.message.resize(static_cast<std::size_t>(header.length));
  if (!read_whole(stream, std::span(stream.message).subspan(kHeaderBytes), timeout)) return -1;
  const std::string_view why = why_unsound(stream.message, stream.request);
  if (!why.empty()) return refuse(why);
  last_code = code_in(stream.message);
  hide_cluster_time(stream.message);
  stream.request = request_after(stream.request, stream.message);
  return 0;
}

ssize_t hand_over(GuardedStream& stream, std::span<mongoc_iovec_t> to) {
  std::size_t given = 0;
  for (const mongoc_iovec_t& part : to) {
    const std::size_t count = std::min(part.iov_len, stream.message.size() - stream.taken);
    std::memcpy(part.iov_base, stream.message.data() + stream.taken, count);
    stream.taken += count;
    given += count;
  }
  return static_cast<ssize_t>(given);
}

ssize_t readv(mongoc_stream_t* stream, mongoc_iovec_t* iov, std::size_t count,
              std::size_t /*min_bytes*/, std::int32_t timeout) {
  GuardedStream& self = guarded(stream);
  try {
    if (self.taken == self.message.size() && fetch(self, timeout) != 0) {
      self.message.clear();
      self.taken = 0;
      return -1;
    }
  } catch (const std::bad_alloc&) {
    errno = ENOMEM;
    return -1;
  }
  return hand_over(self, {iov, count});
}

// libmongoc sends each message by one call, in several pieces.
ssize_t writev(mongoc_stream_t* stream, mongoc_iovec_t* iov, std::size_t count,
               std::int32_t timeout) {
  std::array<std::uint8_t, kRequestBytes> begin{};
  std::size_t have = 0;
  for (std::size_t i = 0; i < count && have < begin.size(); ++i) {
    const std::size_t bytes = std::min(iov[i].iov_len, begin.size() - have);
    std::memcpy(begin.data() + have, iov[i].iov_base, bytes);
    have += bytes;
  }
  guarded(stream).request = request_in(begin);
  last_code.reset();
  return mongoc_stream_writev(inner_of(stream), iov, count, timeout);
}

// Null if `inner` is, or if there is no memory.
mongoc_stream_t* guard(mongoc_stream_t* inner, bson_error_t* error) {
  if (inner == nullptr) return nullptr;
  std::unique_ptr<GuardedStream> made(new (std::nothrow) GuardedStream());
  if (!made) {
    mongoc_stream_destroy(inner);
    bson_set_error(error, MONGOC_ERROR_STREAM, MONGOC_ERROR_STREAM_CONNECT, "no memory");
    return nullptr;
  }
  made->readv = readv;
  made->writev = writev;
  return on_top_of(inner, std::move(made));
}

mongoc_stream_t* connect_guarded(const mongoc_uri_t* uri, const mongoc_host_list_t* host,
                                 void* /*context*/, bson_error_t* error) {
  mongoc_stream_t* stream = connect_to(uri, host, time_to_connect(), error);
  if (stream != nullptr) stream = mongoc_stream_buffered_new(stream, kReadAheadBytes);
  return guard(stream, error);
}

// A monitor polls the socket for its next message, which a buffer might have by then.
mongoc_stream_t* connect_monitor(const mongoc_uri_t* uri, const mongoc_host_list_t* host,
                                 void* /*context*/, bson_error_t* error) {
  return guard(connect_to(uri, host, INT32_MAX, error), error);
}

}  // namespace

void guard_streams(mongoc_client_t* client) {
  mongoc_client_set_stream_initiator(client, connect_guarded, nullptr);
}

void guard_monitors(mongoc_client_pool_t* pool) {
  if (&_mongoc_client_pool_set_stream_initiator == nullptr) return;
  _mongoc_client_pool_set_stream_initiator(pool, connect_monitor, nullptr);
}

SteadyTime end_of_answers() { return answers_until; }

std::int32_t time_to_connect() {
  constexpr std::int32_t kLeastMs = 100;
  return std::max(within_call(INT32_MAX), kLeastMs);
}

AnswersUntil::AnswersUntil(SteadyTime end) : outer_(std::exchange(answers_until, end)) {}

AnswersUntil::~AnswersUntil() { answers_until = outer_; }

std::optional<std::uint32_t> code_of_last_answer() { return last_code; }

std::string_view take_why_unsound() { return std::exchange(last_unsound, {}); }

}  // namespace distlock
