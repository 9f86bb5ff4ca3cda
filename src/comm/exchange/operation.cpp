#include "comm/exchange/operation.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "arena/kernels.hpp"

namespace dbench::comm {
namespace {

/// Groups up to this size are read whole by each member on a host, to be mixed. In larger ones each
/// member's rank makes a chunk of the mean, and the others copy that.
constexpr int64_t kReadWhole = 8;

}  // namespace

Operation::Operation(RowTransport& transport, std::shared_ptr<ScratchPool> pool,
                     std::shared_ptr<const MixingPlan> plan, arena::Rows x, arena::Columns columns,
                     int tag, Options options)
    : transport_(transport),
      pool_(std::move(pool)),
      plan_(std::move(plan)),
      home_(x),
      x_(x),
      columns_(columns),
      tag_(tag),
      options_(options),
      queue_(transport.queue() ? transport.queue() : options.queues.exchange) {
    const bool spans = std::any_of(plan_->groups.begin(), plan_->groups.end(),
                                   [&](const GroupPlan& g) { return !g.local() && !on_host(g); });
    const bool travels = spans || !plan_->send.empty();
    const bool read_there =
        options.by_library ? transport_.queue() != nullptr : transport_.reads_devices();
    if (x.space == arena::Space::device && !read_there && !coded() && travels) stage_rows();
    const bool in_place = options.in_place && !options.by_library;
    for (const GroupPlan& group : plan_->groups) {
        const bool means_coded = coded() && options.in_place;
        if (in_chunks(group)) {
            host_groups_.emplace_back(group, *options.host, x_, columns,
                                      HostMean::Options{options.codec, means_coded});
        } else if (!group.local() && !on_host(group)) {
            groups_.emplace_back(group, x_, columns, *pool_,
                                 GroupMean::Options{in_place, options.codec, means_coded, queue_});
        }
    }
    combined_ = host_groups_.empty();
}

/// What a device has for itself MPI cannot read: it gets a copy.
void Operation::stage_rows() {
    const int64_t size = arena::size_of(x_.type);
    staged_ = pool_->take(x_.count * columns_.count() * size);
    x_.data = staged_.get() - columns_.begin * size;
    x_.space = arena::Space::host;
    x_.stride = columns_.count();
}

bool Operation::begin() {
    const bool more = put();
    if (ordered()) moved_ = queue_->record();
    return more;
}

bool Operation::put() {
    if (!plan_->local()) {
        arena::order(options_.queues.compute, queue_, "rows that are exchanged");
    }
    for (int64_t i = 0; staged_ && i < x_.count; ++i) {
        arena::Rows to = x_.only(i);
        to.stride = home_.stride;  // of one row it means nothing
        arena::copy(home_.only(i), to, columns_, queue_);
    }
    if (coded()) encode_rows();
    if (host() && !coded()) {
        host()->offer({x_.at(0, columns_.begin), x_.stride * arena::size_of(x_.type)});
    }
    begin_rows();
    if (groups_.empty()) return false;
    if (options_.by_library) {  // sums of the library start in the order of the exchanges
        begin_library();
        return false;
    }
    if (transport_.queue()) {
        begin_groups();
        return false;
    }
    phase_ = Phase::reduce;
    return std::any_of(plan_->groups.begin(), plan_->groups.end(), [&](const GroupPlan& g) {
        return !g.local() && !on_host(g) && (coded() || g.adds_first());
    });
}

bool Operation::on_host(const GroupPlan& group) const { return host() && host()->takes(group); }

bool Operation::in_chunks(const GroupPlan& group) const {
    return on_host(group) && (options_.in_place || group.members > kReadWhole);
}

std::vector<const void*> Operation::local_rows(const GroupPlan& group) const {
    std::vector<const void*> rows;
    for (const int64_t row : group.rows) rows.push_back(home_.at(row, 0));
    return rows;
}

/// Makes the words of all rows that go to neighbours, or that others read.
void Operation::encode_rows() {
    std::set<int64_t> rows;
    for (const Parcel& parcel : plan_->send) rows.insert(parcel.rows.begin(), parcel.rows.end());
    for (const GroupPlan& group : plan_->groups) {
        if (on_host(group)) rows.insert(group.rows.begin(), group.rows.end());
    }
    words_.assign(static_cast<size_t>(x_.count), nullptr);
    const int64_t bytes = columns_.count() * travelling_size();
    // Who reads in place finds a row by its number.
    char* const words = host() ? host()->take(x_.count * bytes)
                               : (sent_ = pool_->take(std::ssize(rows) * bytes)).get();
    // Who reads in place reads at once.
    arena::Queue* const queue = host() ? nullptr : queue_;
    int64_t next = 0;
    for (const int64_t row : rows) {
        char* const to = words + (host() ? row : next++) * bytes;
        arena::encode(options_.codec, x_.type, x_.at(row, columns_.begin),
                      reinterpret_cast<uint16_t*>(to), columns_.count(), queue);
        words_[row] = to - before();
    }
    if (host()) host()->offer({words, bytes});
}

void Operation::begin_rows() {
    const int64_t bytes = columns_.count() * travelling_size();
    if (bytes == 0) return;
    const auto travels = [&](const Parcel& parcel) {
        return !host() || !host()->with(parcel.rank);
    };
    int64_t arriving = 0;
    for (const Parcel& parcel : plan_->receive) {
        if (travels(parcel)) arriving += static_cast<int64_t>(parcel.rows.size());
    }
    received_ = pool_->take(arriving * bytes);
    slots_.resize(static_cast<size_t>(plan_->slots));
    std::vector<Message> out, in;
    for (const Parcel& parcel : plan_->send) {
        if (!travels(parcel)) continue;
        for (const int64_t row : parcel.rows) {
            char* const from =
                coded() ? const_cast<char*>(words_[row]) + before() : x_.at(row, columns_.begin);
            out.push_back({parcel.rank, tag_, from, bytes});
        }
    }
    char* arrives = received_.get();
    for (const Parcel& parcel : plan_->receive) {
        if (!travels(parcel)) continue;
        for (const int64_t slot : parcel.rows) {
            slots_[slot] = arrives - before();
            in.push_back({parcel.rank, tag_, arrives, bytes});
            arrives += bytes;
        }
    }
    if (!out.empty() || !in.empty()) rows_ = send(out, in);
    if (host_groups_.empty()) return;
    if (!options_.in_place) {
        const auto groups = std::count_if(plan_->groups.begin(), plan_->groups.end(),
                                          [](const GroupPlan& g) { return !g.local(); });
        const int64_t row = columns_.count() * arena::size_of(x_.type);
        means_ = {host()->take(groups * row), row};
    } else {  // where nobody else reads that chunk
        const int64_t first = plan_->groups[0].rows[0];
        means_ = {host()->row(plan_->groups[0].parts[plan_->groups[0].me].rank, first), 0};
    }
}

void Operation::begin_library() {
    const int64_t size = arena::size_of(x_.type);
    const void* from = x_.at(0, columns_.begin);
    if (x_.count > 1) {  // this rank's rows first, as a tree of their own
        std::vector<arena::Summand> leaves;
        for (int64_t i = 0; i < x_.count; ++i) leaves.push_back({{i, i + 1}, x_.at(i, 0)});
        local_sum_ = pool_->take(columns_.count() * size);
        arena::tree_sum(x_.type, x_.count, leaves, local_sum_.get() - columns_.begin * size,
                        columns_, queue_);
        from = local_sum_.get();
    }
    char* const to = static_cast<char*>(groups_[0].result()) + columns_.begin * size;
    if (!transport_.queue()) arena::finish(queue_, "what the library sums");
    steps_.push_back(transport_.start_sum(x_.type, from, to, columns_.count()));
    phase_ = Phase::library;
    if (!transport_.queue()) return;
    scale_sum();
    steps_.push_back(transport_.start({}, {}));
    phase_ = Phase::gather;
}

/// All steps at once, in the transport's order.
void Operation::begin_groups() {
    for (GroupMean& group : groups_) group.reduce();
    start_groups(&GroupMean::list_scatter);
    for (GroupMean& group : groups_) group.combine();
    start_groups(&GroupMean::list_gather);
    phase_ = Phase::gather;
}

/// Makes the library's sum the mean.
void Operation::scale_sum() {
    const arena::Rows sum{groups_[0].result(), x_.type, x_.space, 0, 1, x_.stride};
    arena::scale(sum, columns_, 1.0 / static_cast<double>(plan_->groups[0].members), queue_);
}

/// Whether the steps that have been started have moved.
bool Operation::moved() const {
    return std::all_of(steps_.begin(), steps_.end(), [](const auto& step) { return step->test(); });
}

bool Operation::advance() {
    const bool groups = advance_groups(), here = advance_in_place();
    return (!rows_ || rows_->test()) && groups && here;
}

bool Operation::advance_in_place() {
    if (!host()) return true;
    if (!host()->there()) return false;
    if (!combined_) {
        for (const HostMean& group : host_groups_) group.combine(means_);
        host()->offer_means(means_);
        combined_ = true;
    }
    return std::all_of(host_groups_.begin(), host_groups_.end(),
                       [](const HostMean& group) { return group.owing().empty(); });
}

bool Operation::advance_groups() {
    if (phase_ == Phase::reduce) {
        for (GroupMean& group : groups_) group.reduce();
        start_groups(&GroupMean::list_scatter);
        phase_ = Phase::scatter;
    }
    if (phase_ == Phase::scatter && moved()) {
        for (GroupMean& group : groups_) group.combine();
        start_groups(&GroupMean::list_gather);
        phase_ = Phase::gather;
    }
    if (phase_ == Phase::gather && moved()) phase_ = Phase::moved;
    if (phase_ == Phase::library && moved()) {
        scale_sum();
        arena::finish(queue_, "what the library has summed");
        phase_ = Phase::moved;
    }
    return phase_ == Phase::moved;
}

void Operation::start_groups(void (GroupMean::*list)(int, std::vector<Message>&,
                                                     std::vector<Message>&)) {
    std::vector<Message> out, in;
    for (GroupMean& group : groups_) (group.*list)(tag_, out, in);
    steps_.push_back(send(out, in));
}

/// Starts messages, once what they hold has been computed.
std::unique_ptr<Transfer> Operation::send(const std::vector<Message>& out,
                                          const std::vector<Message>& in) {
    if (!transport_.queue()) arena::finish(queue_, "what is sent");
    return transport_.start(out, in);
}

std::vector<int> Operation::owing() const {
    std::vector<int> ranks;
    const auto add = [&](const Transfer& transfer) {
        const std::vector<int> more = transfer.owing();
        ranks.insert(ranks.end(), more.begin(), more.end());
    };
    if (rows_) add(*rows_);
    for (const auto& step : steps_) add(*step);
    if (host()) {
        const std::vector<int> more = host()->owing();
        ranks.insert(ranks.end(), more.begin(), more.end());
    }
    if (combined_) {
        for (const HostMean& group : host_groups_) {
            const std::vector<int> more = group.owing();
            ranks.insert(ranks.end(), more.begin(), more.end());
        }
    }
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    return ranks;
}

}  // namespace dbench::comm
