#include "cli/orders.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace distlock::cli {
namespace {

/// A message of the socket, and perhaps a descriptor that goes with it.
class Letter {
 public:
  explicit Letter(Order& order) : part_{&order, sizeof order} {
    message_.msg_iov = &part_;
    message_.msg_iovlen = 1;
  }

  void enclose(int descriptor) {
    make_room();
    cmsghdr* header = CMSG_FIRSTHDR(&message_);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  }
  void make_room() {
    message_.msg_control = room_.data();
    message_.msg_controllen = room_.size();
  }
  int enclosed() {
    const cmsghdr* header = CMSG_FIRSTHDR(&message_);
    if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return -1;
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
    return descriptor;
  }
  msghdr* get() { return &message_; }

 private:
  iovec part_;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> room_{};
  msghdr message_{};
};

}  // namespace

// A keeper that has gone does no harm: the command's parent watches the deadline, too.
void give(int keeper, Order order, int enclosed) {
  Letter letter(order);
  if (enclosed >= 0) letter.enclose(enclosed);
  sendmsg(keeper, letter.get(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

Received receive(int orders) {
  Received received;
  Letter letter(received.order);
  letter.make_room();
  const ssize_t got = recvmsg(orders, letter.get(), MSG_CMSG_CLOEXEC | MSG_TRUNC);
  if (got == 0 || (got < 0 && errno != EINTR)) {
    received.what = Received::What::end;
  } else if (got == sizeof(Order)) {
    received.what = Received::What::order;
    received.enclosed = letter.enclosed();
  }
  return received;
}

}  // namespace distlock::cli
