// Begins and advances one exchange; mixing_operation_finish.cpp finishes it.

#include "comm/exchange/mixing_operation.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "arena/kernels.hpp"

namespace dbench::comm {
namespace {

/// Mixing reads the rows of groups up to this size whole on every rank of the host. In larger
/// groups each rank computes one chunk of the mean, and the others copy it.
constexpr int64_t kMaxGroupReadWhole = 8;

}  // namespace

MixingOperation::MixingOperation(RowTransport& transport, std::shared_ptr<ScratchPool> pool,
                                 std::shared_ptr<const MixingPlan> plan, arena::Rows x,
                                 arena::Columns columns, int tag, Options options)
    : transport_(transport),
      pool_(std::move(pool)),
      plan_(std::move(plan)),
      input_(x),
      x_(x),
      columns_(columns),
      tag_(tag),
      options_(options),
      queue_(transport.queue() ? *transport.queue() : options.place.exchange()) {
    const bool spans =
        std::any_of(plan_->groups.begin(), plan_->groups.end(),
                    [&](const GroupPlan& g) { return !g.local() && !read_in_place(g); });
    const bool travels = spans || !plan_->send.empty();
    const bool transport_reads_device =
        options.by_library ? transport_.queue() != nullptr : transport_.reads_devices();
    if (x.space == arena::Space::device && !transport_reads_device && !coded() && travels)
        stage_rows();
    const bool mean_into_x = options.mean_into_x && !options.by_library;
    for (const GroupPlan& group : plan_->groups) {
        const bool means_coded = coded() && options.mean_into_x;
        if (averaged_in_chunks(group)) {
            in_place_groups_.emplace_back(group, *options.in_place, x_, columns,
                                          InPlaceGroupMean::Options{options.codec, means_coded});
        } else if (!group.local() && !read_in_place(group)) {
            groups_.emplace_back(
                group, x_, columns, *pool_,
                GroupMean::Options{mean_into_x, options.codec, means_coded, queue_});
        }
    }
    chunks_computed_ = in_place_groups_.empty();
}

void MixingOperation::stage_rows() {
    const int64_t size = arena::size_of(x_.type);
    staged_ = pool_->take(x_.count * columns_.count() * size);
    x_.data = staged_.get() - columns_.begin * size;
    x_.space = arena::Space::host;
    x_.stride = columns_.count();
}

bool MixingOperation::begin() {
    const bool more = start_transfers();
    if (ordered()) moved_ = queue_.record();
    return more;
}

bool MixingOperation::start_transfers() {
    if (!plan_->local()) {
        arena::order(options_.place.compute(), queue_, "rows that are exchanged");
    }
    for (int64_t i = 0; staged_ && i < x_.count; ++i) {
        arena::Rows to = x_.only(i);
        // Has no meaning for a single row; arena::copy requires equal strides.
        to.stride = input_.stride;
        arena::copy(input_.only(i), to, columns_, queue_);
    }
    if (coded()) encode_rows();
    if (in_place() && !coded()) {
        in_place()->offer({x_.at(0, columns_.begin), x_.stride * arena::size_of(x_.type)});
    }
    start_rows();
    if (groups_.empty()) return false;
    // The sum starts at once: all ranks start their sums in the order of the exchanges.
    if (options_.by_library) {
        start_library_sum();
        return false;
    }
    if (transport_.queue()) {
        start_all_steps();
        return false;
    }
    phase_ = Phase::reduce;
    return std::any_of(plan_->groups.begin(), plan_->groups.end(), [&](const GroupPlan& g) {
        return !g.local() && !read_in_place(g) && (coded() || g.reduces_first());
    });
}

bool MixingOperation::read_in_place(const GroupPlan& group) const {
    return in_place() && in_place()->covers(group);
}

bool MixingOperation::averaged_in_chunks(const GroupPlan& group) const {
    return read_in_place(group) && (options_.mean_into_x || group.members > kMaxGroupReadWhole);
}

std::vector<const void*> MixingOperation::local_rows(const GroupPlan& group) const {
    std::vector<const void*> rows;
    for (const int64_t row : group.rows) rows.push_back(input_.at(row, 0));
    return rows;
}

void MixingOperation::encode_rows() {
    std::set<int64_t> rows;
    for (const RankRows& peer : plan_->send) rows.insert(peer.rows.begin(), peer.rows.end());
    for (const GroupPlan& group : plan_->groups) {
        if (read_in_place(group)) rows.insert(group.rows.begin(), group.rows.end());
    }
    words_.assign(static_cast<size_t>(x_.count), nullptr);
    const int64_t bytes = columns_.count() * travelling_size();
    // Readers in place find a row by its local index, so the memory holds all rows; messages need
    // only those that are sent.
    char* const words = in_place() ? in_place()->take(x_.count * bytes)
                                   : (sent_ = pool_->take(std::ssize(rows) * bytes)).get();
    // Rows that are offered in place must be complete now, so the host encodes them.
    arena::Queue& queue = in_place() ? arena::host_queue() : queue_;
    int64_t next = 0;
    for (const int64_t row : rows) {
        char* const to = words + (in_place() ? row : next++) * bytes;
        arena::encode(options_.codec, x_.type, x_.at(row, columns_.begin),
                      reinterpret_cast<uint16_t*>(to), columns_.count(), queue);
        words_[row] = to - bytes_before();
    }
    if (in_place()) in_place()->offer({words, bytes});
}

void MixingOperation::start_rows() {
    const int64_t bytes = columns_.count() * travelling_size();
    if (bytes == 0) return;
    const auto travels = [&](const RankRows& peer) {
        return !in_place() || !in_place()->covers_rank(peer.rank);
    };
    int64_t arriving = 0;
    for (const RankRows& peer : plan_->receive) {
        if (travels(peer)) arriving += static_cast<int64_t>(peer.rows.size());
    }
    received_ = pool_->take(arriving * bytes);
    slots_.resize(static_cast<size_t>(plan_->slots));
    std::vector<Message> out, in;
    for (const RankRows& peer : plan_->send) {
        if (!travels(peer)) continue;
        for (const int64_t row : peer.rows) {
            char* const from = coded() ? const_cast<char*>(words_[row]) + bytes_before()
                                       : x_.at(row, columns_.begin);
            out.push_back({peer.rank, tag_, from, bytes});
        }
    }
    char* arrives = received_.get();
    for (const RankRows& peer : plan_->receive) {
        if (!travels(peer)) continue;
        for (const int64_t slot : peer.rows) {
            slots_[slot] = arrives - bytes_before();
            in.push_back({peer.rank, tag_, arrives, bytes});
            arrives += bytes;
        }
    }
    if (!out.empty() || !in.empty()) rows_ = send(out, in);
    if (in_place_groups_.empty()) return;
    if (!options_.mean_into_x) {
        const auto groups = std::count_if(plan_->groups.begin(), plan_->groups.end(),
                                          [](const GroupPlan& g) { return !g.local(); });
        const int64_t row = columns_.count() * arena::size_of(x_.type);
        means_ = {in_place()->take(groups * row), row};
    } else {  // no other rank reads this chunk of x
        const int64_t first = plan_->groups[0].rows[0];
        means_ = {in_place()->row(plan_->groups[0].parts[plan_->groups[0].me].rank, first), 0};
    }
}

void MixingOperation::start_library_sum() {
    const int64_t size = arena::size_of(x_.type);
    const void* from = x_.at(0, columns_.begin);
    if (x_.count > 1) {  // adds this rank's rows first, along a tree of their own
        std::vector<arena::Summand> leaves;
        for (int64_t i = 0; i < x_.count; ++i) leaves.push_back({{i, i + 1}, x_.at(i, 0)});
        local_sum_ = pool_->take(columns_.count() * size);
        arena::tree_sum(x_.type, x_.count, leaves, local_sum_.get() - columns_.begin * size,
                        columns_, queue_);
        from = local_sum_.get();
    }
    char* const to = static_cast<char*>(groups_[0].result()) + columns_.begin * size;
    if (!transport_.queue()) arena::finish(queue_, "rows that the library sums");
    steps_.push_back(transport_.start_sum(x_.type, from, to, columns_.count()));
    phase_ = Phase::library;
    if (!transport_.queue()) return;
    scale_sum();
    steps_.push_back(transport_.start({}, {}));
    phase_ = Phase::gather;
}

void MixingOperation::start_all_steps() {
    for (GroupMean& group : groups_) group.reduce();
    start_step(&GroupMean::list_scatter);
    for (GroupMean& group : groups_) group.combine();
    start_step(&GroupMean::list_gather);
    phase_ = Phase::gather;
}

void MixingOperation::scale_sum() {
    const arena::Rows sum{groups_[0].result(), x_.type, x_.space, 0, 1, x_.stride};
    arena::scale(sum, columns_, 1.0 / static_cast<double>(plan_->groups[0].members), queue_);
}

bool MixingOperation::moved() const {
    return std::all_of(steps_.begin(), steps_.end(), [](const auto& step) { return step->test(); });
}

bool MixingOperation::advance() {
    const bool groups = advance_groups(), here = advance_in_place();
    return (!rows_ || rows_->test()) && groups && here;
}

bool MixingOperation::advance_in_place() {
    if (!in_place()) return true;
    if (!in_place()->rows_ready()) return false;
    if (!chunks_computed_) {
        for (const InPlaceGroupMean& group : in_place_groups_) group.combine(means_);
        in_place()->offer_means(means_);
        chunks_computed_ = true;
    }
    return std::all_of(in_place_groups_.begin(), in_place_groups_.end(),
                       [](const InPlaceGroupMean& group) { return group.awaited_ranks().empty(); });
}

bool MixingOperation::advance_groups() {
    if (phase_ == Phase::reduce) {
        for (GroupMean& group : groups_) group.reduce();
        start_step(&GroupMean::list_scatter);
        phase_ = Phase::scatter;
    }
    if (phase_ == Phase::scatter && moved()) {
        for (GroupMean& group : groups_) group.combine();
        start_step(&GroupMean::list_gather);
        phase_ = Phase::gather;
    }
    if (phase_ == Phase::gather && moved()) phase_ = Phase::moved;
    if (phase_ == Phase::library && moved()) {
        scale_sum();
        arena::finish(queue_, "the sum by the library");
        phase_ = Phase::moved;
    }
    return phase_ == Phase::moved;
}

void MixingOperation::start_step(void (GroupMean::*list)(int, std::vector<Message>&,
                                                         std::vector<Message>&)) {
    std::vector<Message> out, in;
    for (GroupMean& group : groups_) (group.*list)(tag_, out, in);
    steps_.push_back(send(out, in));
}

std::unique_ptr<Transfer> MixingOperation::send(const std::vector<Message>& out,
                                                const std::vector<Message>& in) {
    if (!transport_.queue()) arena::finish(queue_, "data to send");
    return transport_.start(out, in);
}

std::vector<int> MixingOperation::awaited_ranks() const {
    std::vector<int> ranks;
    const auto add = [&](const Transfer& transfer) {
        const std::vector<int> more = transfer.awaited_ranks();
        ranks.insert(ranks.end(), more.begin(), more.end());
    };
    if (rows_) add(*rows_);
    for (const auto& step : steps_) add(*step);
    if (in_place()) {
        const std::vector<int> more = in_place()->awaited_ranks();
        ranks.insert(ranks.end(), more.begin(), more.end());
    }
    if (chunks_computed_) {
        for (const InPlaceGroupMean& group : in_place_groups_) {
            const std::vector<int> more = group.awaited_ranks();
            ranks.insert(ranks.end(), more.begin(), more.end());
        }
    }
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    return ranks;
}

}  // namespace dbench::comm
