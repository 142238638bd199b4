#include "stores/mongodb/mongo_forks.h"

#include <memory>
#include <new>

#include "stores/mongodb/mongo_stream_on_top.h"

namespace distlock {
namespace {

struct WaitingStream : StreamOnTop {};

ssize_t read_beside_forks(mongoc_stream_t* stream, mongoc_iovec_t* iov, std::size_t count,
                          std::size_t min_bytes, std::int32_t timeout) {
  const WaitInMongoc wait;
  return mongoc_stream_readv(inner_of(stream), iov, count, min_bytes, timeout);
}

ssize_t write_beside_forks(mongoc_stream_t* stream, mongoc_iovec_t* iov, std::size_t count,
                           std::int32_t timeout) {
  const WaitInMongoc wait;
  return mongoc_stream_writev(inner_of(stream), iov, count, timeout);
}

}  // namespace

// No exception may get through libmongoc.
mongoc_stream_t* with_waits_beside_forks(mongoc_stream_t* socket) {
  std::unique_ptr<WaitingStream> top(new (std::nothrow) WaitingStream());
  if (!top) {
    mongoc_stream_destroy(socket);
    return nullptr;
  }
  top->readv = read_beside_forks;
  top->writev = write_beside_forks;
  return on_top_of(socket, std::move(top));
}

}  // namespace distlock
