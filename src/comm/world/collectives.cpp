// Collectives on texts of any length, built from messages of the control transport. A text travels
// as one packet of at most 4 KiB, which holds its length and its beginning, and one more message if
// the text is longer.

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/framing.hpp"
#include "comm/world/background_collective.hpp"
#include "comm/world/collective.hpp"
#include "comm/world/world_impl.hpp"

namespace dbench::comm {
namespace {

constexpr size_t kPacket = 4096;
constexpr size_t kBeginning = kPacket - sizeof(uint64_t);

/// Returns the packet of a text.
std::string packet(const std::string& text) {
    const uint64_t length = text.size();
    std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
    return bytes.append(text, 0, kBeginning);
}

/// Returns the text of a packet, without the part that does not fit in the packet.
std::string unpack(const std::string& bytes) {
    uint64_t length;
    std::memcpy(&length, bytes.data(), sizeof length);
    std::string text(length, '\0');
    std::memcpy(text.data(), bytes.data() + sizeof length, std::min<size_t>(length, kBeginning));
    return text;
}

/// Returns the lowest one bit of a rank; for rank 0 the first power of two that is not less than
/// `size`.
int lowest_bit(int rank, int size) {
    int bit = 1;
    while (bit < size && !(rank & bit)) bit *= 2;
    return bit;
}

/// Returns the seconds to wait for an event that is `steps` steps of a collective away from its
/// cause. Ranks that wait for a silent rank directly must reach their deadline first, so that the
/// error names the right rank.
double extended_limit(double seconds, int steps) { return seconds * (1 + 0.1 * steps); }

}  // namespace

/// Upwards, rank r receives from r + 1, r + 2, r + 4, ... below its lowest one bit. Each child
/// sends the texts of as many ranks as its distance. With its own text, rank r then has those of r,
/// ..., r + bit - 1. It sends them to its parent, rank r without that bit. Downwards, it receives
/// from the parent and sends to the children.
Collective::Collective(const Endpoint& endpoint, Direction direction, std::string text,
                       Answer answer)
    : endpoint_(endpoint),
      direction_(direction),
      bit_(lowest_bit(endpoint.rank, endpoint.size)),
      answer_(std::move(answer)),
      text_(std::move(text)) {
    for (int b = 1; b < bit_ && endpoint.rank + b < endpoint.size; b *= 2) {
        children_.push_back(endpoint.rank + b);
    }
    if (direction != Direction::down) {
        steps_ = {&Collective::receive_from_children, &Collective::receive_rests_from_children,
                  &Collective::send_to_parent};
    }
    if (direction == Direction::up) return;
    if (endpoint.rank != 0) {
        steps_.insert(steps_.end(),
                      {&Collective::receive_from_parent, &Collective::receive_rest_from_parent});
    }
    steps_.push_back(&Collective::send_to_children);
}

int Collective::steps_up() const {
    return direction_ == Direction::down ? 0 : static_cast<int>(children_.size());
}

int Collective::steps_down() const {
    if (direction_ == Direction::up || endpoint_.rank == 0) return 0;
    return std::bit_width(static_cast<unsigned>(endpoint_.size - 1)) +
           std::popcount(static_cast<unsigned>(endpoint_.rank));
}

bool Collective::advance() {
    for (;;) {
        if (transfer_ && !transfer_->test()) return false;
        transfer_.reset();
        if (next_ == steps_.size()) return true;
        (this->*steps_[next_++])();
    }
}

std::vector<int> Collective::awaited_ranks() const {
    return transfer_ ? transfer_->awaited_ranks() : std::vector<int>{};
}

void Collective::start(std::vector<Message> out, std::vector<Message> in) {
    if (!out.empty() || !in.empty()) transfer_ = endpoint_.transport.start(out, in);
}

Message Collective::message(int rank, std::string& bytes) const {
    return {rank, endpoint_.tag, bytes.data(), static_cast<int64_t>(bytes.size())};
}

void Collective::add_rest(std::vector<Message>& messages, int rank, std::string& text) const {
    if (text.size() <= kBeginning) return;
    messages.push_back({rank, endpoint_.tag, text.data() + kBeginning,
                        static_cast<int64_t>(text.size() - kBeginning)});
}

void Collective::receive_from_children() {
    parts_.assign(children_.size(), std::string(kPacket, '\0'));
    std::vector<Message> in;
    for (size_t k = 0; k < children_.size(); ++k) in.push_back(message(children_[k], parts_[k]));
    start({}, std::move(in));
}

void Collective::receive_rests_from_children() {
    std::vector<Message> in;
    for (size_t k = 0; k < children_.size(); ++k) {
        parts_[k] = unpack(parts_[k]);
        add_rest(in, children_[k], parts_[k]);
    }
    start({}, std::move(in));
}

void Collective::send_to_parent() {
    texts_.push_back(std::move(text_));
    for (const std::string& part : parts_) {
        for (std::string& text : base::split_texts(part)) texts_.push_back(std::move(text));
    }
    parts_.clear();
    gathered_.store(true, std::memory_order_release);
    if (endpoint_.rank == 0) {
        if (answer_) text_ = answer_(texts_);
        return;
    }
    text_ = base::join_texts(texts_);
    texts_.clear();
    packet_ = packet(text_);
    std::vector<Message> out{message(endpoint_.rank - bit_, packet_)};
    add_rest(out, endpoint_.rank - bit_, text_);
    start(std::move(out), {});
}

void Collective::receive_from_parent() {
    packet_.assign(kPacket, '\0');
    start({}, {message(endpoint_.rank - bit_, packet_)});
}

void Collective::receive_rest_from_parent() {
    text_ = unpack(packet_);
    std::vector<Message> rest;
    add_rest(rest, endpoint_.rank - bit_, text_);
    start({}, std::move(rest));
}

void Collective::send_to_children() {
    packet_ = packet(text_);
    std::vector<Message> out;
    for (auto child = children_.rbegin(); child != children_.rend(); ++child) {
        out.push_back(message(*child, packet_));
        add_rest(out, *child, text_);
    }
    start(std::move(out), {});
}

std::shared_ptr<Collective> World::Impl::collective(Collective::Direction direction,
                                                    std::string text, Collective::Answer answer) {
    const Collective::Endpoint endpoint{control(), rank(), size(), next_collective()};
    return std::make_shared<Collective>(endpoint, direction, std::move(text), std::move(answer));
}

void World::Impl::wait(const std::string& what, const std::shared_ptr<Collective>& given,
                       double seconds) {
    Collective& collective = *given;
    if (engine.test(collective)) return;
    if (seconds <= 0) seconds = deadline;
    const Engine::Waiting waiting(engine);
    const auto awaited_ranks = [&] { return engine.awaited_ranks(collective); };
    try {
        wait(
            what, [&] { return engine.test(collective) || collective.gathered(); }, awaited_ranks,
            extended_limit(seconds, collective.steps_up()));
        wait(
            what, [&] { return engine.test(collective); }, awaited_ranks,
            extended_limit(seconds, collective.steps_down()));
    } catch (...) {
        failed = true;
        Engine::keep_until_exit(given);  // MPI may still write into its texts.
        throw;
    }
}

std::vector<std::string> World::Impl::gather(const std::string& what, const std::string& bytes) {
    const auto gathering = collective(Collective::Direction::up, bytes);
    wait(what, gathering);
    return std::move(gathering->texts());
}

void World::Impl::broadcast(const std::string& what, std::string& bytes) {
    const auto telling = collective(Collective::Direction::down, bytes);
    wait(what, telling);
    bytes = std::move(telling->text());
}

std::string World::Impl::answer(const std::string& what, const std::string& bytes,
                                Collective::Answer answer, double seconds) {
    const auto asking = collective(Collective::Direction::both, bytes, std::move(answer));
    wait(what, asking, seconds);
    return std::move(asking->text());
}

BackgroundCollective::BackgroundCollective(World& world, std::string what, std::string text,
                                           Answer answer)
    : world_(world.impl()),
      what_(std::move(what)),
      collective_(
          world_.collective(Collective::Direction::both, std::move(text), std::move(answer))) {
    world_.engine.start(collective_, FirstAdvance::caller);
}

BackgroundCollective::~BackgroundCollective() = default;

bool BackgroundCollective::done() const { return collective_->done(); }

const std::vector<std::string>& BackgroundCollective::texts() {
    world_.wait(what_, collective_);
    return collective_->texts();
}

const std::string& BackgroundCollective::answer() {
    world_.wait(what_, collective_);
    return collective_->text();
}

}  // namespace dbench::comm
