#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace distlock {

/// The first part of each message of MongoDB's wire protocol.
struct MessageHeader {
  std::int32_t length = 0;
  std::int32_t id = 0;
  std::int32_t response_to = 0;
  std::int32_t opcode = 0;
};
inline constexpr std::size_t kHeaderBytes = 16;
static_assert(sizeof(MessageHeader) == kHeaderBytes);

/// The header of a message, of which that many bytes must be there.
MessageHeader header_of(std::span<const std::uint8_t> message);

/// Whether a message can have this length.
bool length_is_possible(std::int32_t length);

/// A request, as far as its answers depend on it.
struct Request {
  MessageHeader header;
  bool allows_more = false;  ///< More than one answer, each to the one before.
};
/// How much of a request request_in() reads.
inline constexpr std::size_t kRequestBytes = kHeaderBytes + sizeof(std::int32_t);
Request request_in(std::span<const std::uint8_t> message);

/// Why a whole message is no answer to `request` that libmongoc may see, or nothing. It trusts the
/// shape of what it reads, and ends the process where an assertion of its own fails.
std::string_view why_unsound(std::span<const std::uint8_t> message, const Request& request);

/// The request of the next answer, after a sound one to `request`: where that announces another
/// one, that is to it.
Request request_after(const Request& request, std::span<const std::uint8_t> message);

/// Renames `$clusterTime` in a sound answer, so that libmongoc knows none. It would send the
/// greatest to every server for ever, and a server refuses each command with one that it cannot
/// believe.
void hide_cluster_time(std::span<std::uint8_t> message);

/// The number of the error that a sound answer tells, or 0.
std::uint32_t code_in(std::span<const std::uint8_t> message);

}  // namespace distlock
