#pragma once
// Compressed messages: between rows and bytes, tensor by tensor. What the bytes hold is Q(v), and
// they are what a message occupies on the wire. Noise is keyed, so that no bit depends on where a
// replica is placed. Values travel in the precision of the run.

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "arena/layout.hpp"
#include "arena/rows.hpp"
#include "base/family.hpp"
#include "base/random.hpp"

namespace dbench::algorithms {

/// Names a message of a run, and with it the stream of its random numbers.
struct MessageKey {
    uint64_t seed;
    int64_t replica;    ///< who sends it
    int64_t iteration;  ///< when
    int part = 0;       ///< which of the iteration's messages

    base::Random random(int tensor) const {
        return {seed,
                base::Purpose::message,
                {static_cast<uint64_t>(replica), static_cast<uint64_t>(iteration),
                 static_cast<uint64_t>(part), static_cast<uint64_t>(tensor)}};
    }
};

/// A tensor of a message: its shape, and the stream for it.
struct Coding {
    const arena::Tensor& tensor;
    base::Random random;
    int64_t numel() const { return tensor.numel; }
};

class Codec {
public:
    virtual ~Codec() = default;
    /// Bytes of a tensor's message, whatever its values.
    virtual int64_t bytes(const arena::Tensor& tensor, arena::DType type) const = 0;
    /// The message of `from` [numel]; a tensor of zeros becomes one of zeros.
    virtual void encode(Coding coding, arena::DType type, const void* from, char* to) const = 0;
    /// out += factor Q(v), from its message.
    virtual void add(Coding coding, arena::DType type, const char* message, double factor,
                     void* out) const = 0;
};

/// A codec from a form that has `bytes<T>(tensor)`, `encode<T>(coding, from, to)` and
/// `add<T>(coding, message, factor, out)`.
template <class Form>
class CodecOf final : public Codec {
public:
    explicit CodecOf(Form form) : form_(std::move(form)) {}
    int64_t bytes(const arena::Tensor& tensor, arena::DType type) const override {
        return arena::with_type(
            type, [&]<class T>() -> int64_t { return form_.template bytes<T>(tensor); });
    }
    void encode(Coding coding, arena::DType type, const void* from, char* to) const override {
        arena::with_type(type, [&]<class T>() {
            form_.template encode<T>(coding, static_cast<const T*>(from), to);
        });
    }
    void add(Coding coding, arena::DType type, const char* message, double factor,
             void* out) const override {
        arena::with_type(type, [&]<class T>() {
            form_.template add<T>(coding, message, static_cast<T>(factor), static_cast<T*>(out));
        });
    }

private:
    Form form_;
};

template <class Form>
std::unique_ptr<Codec> codec_of(Form form) {
    return std::make_unique<CodecOf<Form>>(std::move(form));
}

struct CodecEntry : base::Entry {
    std::unique_ptr<Codec> (*make)(const base::Json& spec);
    bool keyed = false;  ///< draws random numbers, whatever its parameters
};
/// All codecs, in the order of documentation.
const std::vector<CodecEntry>& codec_table();

/// A resolved /message of the spec, as a codec.
std::unique_ptr<Codec> make_codec(const base::Json& message);

}  // namespace dbench::algorithms
