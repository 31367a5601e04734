#include "base/sha256.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <cstdint>
#include <new>

namespace bitsweep {

void Sha256::Free::operator()(void* context) const {
  EVP_MD_CTX_free(static_cast<EVP_MD_CTX*>(context));
}

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  if (context_ == nullptr ||
      EVP_DigestInit_ex(static_cast<EVP_MD_CTX*>(context_.get()), EVP_sha256(), nullptr) != 1)
    throw std::bad_alloc();
}

void Sha256::add(const void* data, std::size_t size) {
  auto* context = static_cast<EVP_MD_CTX*>(context_.get());
  const auto length = static_cast<std::uint64_t>(size);
  EVP_DigestUpdate(context, &length, sizeof length);
  if (size > 0) EVP_DigestUpdate(context, data, size);
}

std::string Sha256::digest() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned int size = 0;
  EVP_DigestFinal_ex(static_cast<EVP_MD_CTX*>(context_.get()), bytes.data(), &size);
  return {reinterpret_cast<const char*>(bytes.data()), size};
}

std::string Sha256::hexadecimal() {
  std::string text;
  for (const char byte : digest()) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

}  // namespace bitsweep
