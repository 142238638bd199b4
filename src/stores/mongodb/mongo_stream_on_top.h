#pragma once

#include <mongoc/mongoc.h>

#include <memory>

namespace distlock {

/// A stream of ours on top of one of libmongoc's.
struct StreamOnTop : mongoc_stream_t {
  mongoc_stream_t* inner = nullptr;
};

inline mongoc_stream_t* inner_of(mongoc_stream_t* stream) {
  return static_cast<StreamOnTop&>(*stream).inner;
}

/// Puts `top` on top of `inner`, which it owns from now on. Reading and writing are its own; the
/// rest it leaves to `inner`.
template <class Stream>
mongoc_stream_t* on_top_of(mongoc_stream_t* inner, std::unique_ptr<Stream> top) {
  top->inner = inner;
  top->destroy = [](mongoc_stream_t* s) {
    const std::unique_ptr<Stream> self(static_cast<Stream*>(s));
    mongoc_stream_destroy(self->inner);
  };
  top->failed = [](mongoc_stream_t* s) {
    const std::unique_ptr<Stream> self(static_cast<Stream*>(s));
    mongoc_stream_failed(self->inner);
  };
  top->close = [](mongoc_stream_t* s) { return mongoc_stream_close(inner_of(s)); };
  top->flush = [](mongoc_stream_t* s) { return mongoc_stream_flush(inner_of(s)); };
  top->setsockopt = [](mongoc_stream_t* s, int level, int name, void* value,
                       mongoc_socklen_t size) {
    return mongoc_stream_setsockopt(inner_of(s), level, name, value, size);
  };
  top->get_base_stream = [](mongoc_stream_t* s) { return inner_of(s); };
  top->check_closed = [](mongoc_stream_t* s) { return mongoc_stream_check_closed(inner_of(s)); };
  top->timed_out = [](mongoc_stream_t* s) { return mongoc_stream_timed_out(inner_of(s)); };
  top->should_retry = [](mongoc_stream_t* s) { return mongoc_stream_should_retry(inner_of(s)); };
  return top.release();
}

}  // namespace distlock
