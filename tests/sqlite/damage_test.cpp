#include <fstream>
#include <iterator>
#include <random>

#include "sqlite/file_under_fault.h"
#include "support/seed.h"

using namespace distlock;
using namespace distlock::testing;
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kPage = 4096;

std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_bytes(const fs::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
}

std::string lock_name(int number) { return "jobs" + std::to_string(number); }

// A file with a hold on each of many locks, on more than one page, and without a log.
std::vector<Token> make_file(const fs::path& file, int locks) {
  std::vector<Token> tokens;
  const auto store = open_at(file);
  for (int i = 0; i < locks; ++i) tokens.push_back(*held(*store, lock_name(i)).ts);
  store->ping("holder");
  return tokens;
}

// All that a program may try on a file: every call, each of which answers or throws an Error.
void try_everything(const fs::path& file, const std::vector<Token>& tokens) {
  const auto store = open_at(file);
  error_of([&] { store->list(); });
  error_of([&] { store->ping("holder"); });
  error_of([&] { store->holds("holder"); });
  error_of([&] { store->forget_pings(std::chrono::hours{96}); });
  for (std::size_t i = 0; i < tokens.size(); i += 10) {
    const std::string name = lock_name(static_cast<int>(i));
    error_of([&] { store->inspect(name, Freshness::fresh); });
    error_of([&] { store->claim(name, FromFree{}, claim_by(*store, "contender")); });
    error_of([&] { store->release(name, tokens[i]); });
  }
}

}  // namespace

TEST_CASE("a damaged page is 65, nothing is changed, and mended the file has every hold",
          "[sqlite][R14]") {
  ToolFixture fixture;
  const auto tokens = make_file(fixture.file(), 100);
  const std::string sound = bytes_of(fixture.file());
  REQUIRE(sound.size() >= 6 * kPage);
  std::string damaged = sound;
  // Its first page says what the file is; all others are torn.
  std::fill(damaged.begin() + kPage, damaged.end(), '\xA5');
  write_bytes(fixture.file(), damaged);

  CHECK(fixture.status({"run", "-n", "jobs0", "--", "echo", "ran"}) == 65);
  CHECK(fixture.output.empty());
  CHECK_THAT(fixture.messages, Catch::Contains("locks.db") && Catch::Contains("damaged"));
  CHECK(fixture.status({"list"}) == 65);
  CHECK(fixture.status({"break", "--yes", "jobs0"}) == 65);
  CHECK(bytes_of(fixture.file()) == damaged);

  write_bytes(fixture.file(), sound);
  const auto store = open_at(fixture.file());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    CHECK(store->inspect(lock_name(static_cast<int>(i)), Freshness::fresh).lock->ts == tokens[i]);
  }
}

TEST_CASE("a file that ends early is an error and no free lock", "[sqlite][R14]") {
  ToolFixture fixture;
  const auto tokens = make_file(fixture.file(), 100);
  const std::string sound = bytes_of(fixture.file());
  // A file of no bytes is a new one.
  const auto size = GENERATE(as<std::size_t>{}, 100, 4096, 8192, 12388);
  write_bytes(fixture.file(), sound.substr(0, size));
  CHECK(fixture.status({"run", "-n", "jobs50", "--", "echo", "ran"}) == 65);
  CHECK(fixture.output.empty());
  write_bytes(fixture.file(), sound);
  CHECK(fixture.status({"run", "-n", "jobs50", "--", "true"}) == 1);
}

TEST_CASE("bytes that change anywhere give answers or errors, and no crash", "[sqlite][R14]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "locks.db";
  const auto tokens = make_file(file, 100);
  const std::string sound = bytes_of(file);
  std::mt19937 random(seed_from("DISTLOCK_DAMAGE_SEED"));
  for (int round = 0; round < 30; ++round) {
    std::string damaged = sound;
    for (int i = 0; i < 20; ++i) damaged[random() % damaged.size()] = static_cast<char>(random());
    write_bytes(file, damaged);
    error_of([&] { try_everything(file, tokens); });
    for (const char* more : {"-wal", "-shm"}) fs::remove(file.string() + more);
  }
  write_bytes(file, sound);
  CHECK(open_at(file)->inspect(lock_name(0), Freshness::fresh).lock->ts == tokens[0]);
}
