/* The hash that packetdrill asks the kernel for with sockets of the family AF_ALG, which many kernels do not have: from OpenSSL. */

#include <stddef.h>
#include <string.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

int pathweave_hash(const char *algorithm, const unsigned char *key, size_t key_length, size_t pieces,
		   const unsigned char *piece[], const size_t *length, unsigned char *out, size_t out_length)
{
	const EVP_MD *digest = strstr(algorithm, "sha256") ? EVP_sha256() : EVP_sha1();
	unsigned char all[4096], made[EVP_MAX_MD_SIZE];
	size_t bytes = 0, i;
	unsigned int made_length = 0;

	for (i = 0; i < pieces; i++) {
		if (bytes + length[i] > sizeof(all))
			return -1;
		memcpy(all + bytes, piece[i], length[i]);
		bytes += length[i];
	}
	if (key) {
		if (!HMAC(digest, key, (int)key_length, all, bytes, made, &made_length))
			return -1;
	} else if (!EVP_Digest(all, bytes, made, &made_length, digest, NULL)) {
		return -1;
	}
	if (made_length < out_length)
		return -1;
	memcpy(out, made, out_length);
	return 0;
}
