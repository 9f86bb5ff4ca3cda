#include "comm/mixing/travelling_rows.hpp"

#include <set>

#include "arena/kernels.hpp"

namespace dbench::comm {

TravellingRows::TravellingRows(const MixingContext& context) : context_(context), rows_(context.x) {
    if (context.routes.form != RowForm::staged) return;
    const arena::Columns columns = context.columns;
    const int64_t size = arena::size_of(rows_.type);
    staged_ = context.pool->take(rows_.count * columns.count() * size);
    rows_.data = staged_.get() - columns.begin * size;
    rows_.space = arena::Space::host;
    rows_.stride = columns.count();
}

void TravellingRows::prepare() {
    if (context_.routes.form == RowForm::staged) copy_rows();
    if (context_.routes.form == RowForm::encoded) {
        encode_rows();
    } else if (context_.in_place) {
        context_.in_place->offer(
            {rows_.at(0, context_.columns.begin), rows_.stride * arena::size_of(rows_.type)});
    }
}

void TravellingRows::copy_rows() {
    for (int64_t i = 0; i < rows_.count; ++i) {
        arena::Rows to = rows_.only(i);
        // Has no meaning for a single row; arena::copy requires equal strides.
        to.stride = context_.x.stride;
        arena::copy(context_.x.only(i), to, context_.columns, context_.queue());
    }
}

void TravellingRows::encode_rows() {
    const MixingPlan& plan = *context_.plan;
    InPlaceExchange* const in_place = context_.in_place.get();
    std::set<int64_t> rows;
    for (const RankRows& peer : plan.send) rows.insert(peer.rows.begin(), peer.rows.end());
    for (const GroupRoute route : {GroupRoute::read_whole, GroupRoute::in_chunks}) {
        for (const size_t g : context_.groups_by(route)) {
            rows.insert(plan.groups[g].rows.begin(), plan.groups[g].rows.end());
        }
    }
    words_.assign(static_cast<size_t>(rows_.count), nullptr);
    const arena::Columns columns = context_.columns;
    const int64_t bytes = columns.count() * context_.travelling_size();
    // Readers in place find a row by its local index, so the memory holds all rows; messages need
    // only those that are sent.
    char* const words = in_place ? in_place->take(rows_.count * bytes)
                                 : (sent_ = context_.pool->take(std::ssize(rows) * bytes)).get();
    // Rows that are offered in place must be complete now, so the host encodes them.
    arena::Queue& queue = in_place ? arena::host_queue() : context_.queue();
    int64_t next = 0;
    for (const int64_t row : rows) {
        char* const to = words + (in_place ? row : next++) * bytes;
        arena::encode(context_.codec, rows_.type, rows_.at(row, columns.begin),
                      reinterpret_cast<uint16_t*>(to), columns.count(), queue);
        words_[row] = to - context_.bytes_before();
    }
    if (in_place) in_place->offer({words, bytes});
}

char* TravellingRows::at(int64_t row) const {
    return words_.empty() ? rows_.at(row, context_.columns.begin)
                          : words_[row] + context_.bytes_before();
}

std::vector<const uint16_t*> TravellingRows::words() const {
    std::vector<const uint16_t*> words;
    for (const char* row : words_) words.push_back(reinterpret_cast<const uint16_t*>(row));
    return words;
}

void TravellingRows::release() {
    arena::keep(context_.place.compute(), std::move(staged_));
    arena::keep(context_.place.compute(), std::move(sent_));
    staged_.reset();
    sent_.reset();
}

}  // namespace dbench::comm
